;; The inner loop of the search for credentials (secret-search.ts): from one place that is looked at to the next, sixteen
;; bytes at a time. Says where to look closely and never decides anything itself. The loop in #look() of secret-search.ts
;; does the same, is its oracle and stands in for it. piece-scan.ts holds this assembled; a test assembles it anew.
(module
  ;; 64 KiB of bytes to search and what goes before them, then the tables of pieces.
  (memory (export "memory") 34)
  ;; Nothing begins before this place.
  (global $next (export "next") (mut i32) (i32.const 0))

  ;; Where something may stand that begins in [next, that place]; -1: nowhere up to `last`.
  (func (export "scan")
    (param $next i32) (param $last i32) (param $stride i32) (param $words i32) (param $shift i32) (result i32)
    (local $far i32) (local $at i32) (local $tries i32) (local $window v128) (local $signs i32)
    (local $piece i32) (local $hash i32) (local $mask i32)
    (loop $look
      (if (i32.gt_s (local.get $next) (local.get $last))
        (then (global.set $next (local.get $next)) (return (i32.const -1))))
      (local.set $far (i32.sub (i32.add (local.get $next) (local.get $stride)) (i32.const 1)))
      ;; The last stride is as short as what is left.
      (if (i32.gt_s (local.get $far) (local.get $last)) (then (local.set $far (local.get $last))))
      (local.set $at (local.get $far))
      (local.set $tries (i32.const 4))
      (block $clear
        (loop $again
          ;; Twelve bytes before the piece, and its four.
          (local.set $window (v128.load (i32.sub (local.get $at) (i32.const 12))))
          (local.set $signs
            (i32.or
              (i32.or
                ;; An escape of eight bytes that begins with % & or \ may reach into the piece.
                (i32.and
                  (i8x16.bitmask
                    (v128.or
                      (v128.or
                        (i8x16.eq (local.get $window) (i8x16.splat (i32.const 0x25)))
                        (i8x16.eq (local.get $window) (i8x16.splat (i32.const 0x26))))
                      (i8x16.eq (local.get $window) (i8x16.splat (i32.const 0x5c)))))
                  (i32.const 0xfff0))
                ;; A line may end in it.
                (i32.and
                  (i8x16.bitmask (i8x16.eq (local.get $window) (i8x16.splat (i32.const 0x0a))))
                  (i32.const 0xf000)))
              ;; The first half of a line end may stand at its end.
              (i32.and
                (i8x16.bitmask (i8x16.eq (local.get $window) (i8x16.splat (i32.const 0x0d))))
                (i32.const 0x8000))))
          (br_if $clear (i32.eqz (local.get $signs)))
          ;; Before the first of them. A step back is a shorter stride, and cheaper than reading what an escape stands for.
          (local.set $at (i32.sub (i32.add (local.get $at) (i32.ctz (local.get $signs))) (i32.const 16)))
          (local.set $tries (i32.sub (local.get $tries) (i32.const 1)))
          (br_if $again
            (i32.and (i32.gt_s (local.get $tries) (i32.const 0)) (i32.ge_s (local.get $at) (local.get $next)))))
        (global.set $next (local.get $next))
        (return (local.get $far)))
      (local.set $piece (i32.load (local.get $at)))
      (local.set $hash (i32.mul (local.get $piece) (i32.const 0x85ebca6b)))
      (local.set $mask
        (i32.or
          (i32.or
            (i32.shl (i32.const 1) (i32.shr_u (local.get $hash) (i32.const 27)))
            (i32.shl (i32.const 1) (i32.shr_u (local.get $hash) (i32.const 22))))
          (i32.shl (i32.const 1) (i32.shr_u (local.get $hash) (i32.const 17)))))
      (if
        (i32.eq
          (i32.and
            (i32.load
              (i32.add
                (local.get $words)
                (i32.shl
                  (i32.shr_u (i32.mul (local.get $piece) (i32.const 0x9e3779b1)) (local.get $shift))
                  (i32.const 2))))
            (local.get $mask))
          (local.get $mask))
        (then (global.set $next (local.get $next)) (return (local.get $at))))
      (local.set $next (i32.add (local.get $at) (i32.const 1)))
      (br $look))
    (unreachable)))

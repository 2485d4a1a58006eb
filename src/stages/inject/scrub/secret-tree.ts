// All forms of all credentials in one tree, by their bytes: what stands at a place is found in one walk, however many
// there are and however alike they begin. Adding one touches only its own branch.
import {
  byteOfEscape,
  bytesOfEscape,
  lineEnd,
  mayBecome,
  mayEndLine,
  nothing,
  readEscape,
  signs,
  unfinished,
} from './match-form.ts';
import type { Form, FormKind } from './secret-forms.ts';

export interface LabelledForm<L> extends Form {
  readonly label: L;
}

class Branch<L> {
  /** The form that ends here. */
  whole: LabelledForm<L> | null = null;
  readonly next = new Map<number, Node<L>>();
}

/** A form instead of a branch: from here on there is no other. */
type Node<L> = Branch<L> | LabelledForm<L>;

export class SecretTree<L> {
  /** What the last walk found: the longest that is whole, and where it ends; `nothing` if there was none. */
  end = nothing;
  found: LabelledForm<L> | null = null;
  /** One of those that it may become when more bytes come. */
  unfinished: LabelledForm<L> | null = null;
  readonly #roots = { plain: new Branch<L>(), base64: new Branch<L>(), hex: new Branch<L>() };
  #seen: Map<Node<L>, Set<number>> | null = null;

  add(form: LabelledForm<L>): void {
    const { bytes } = form;
    let node = this.#roots[form.kind];
    for (let depth = 0; ; depth++) {
      if (depth === bytes.length) {
        node.whole ??= form;
        return;
      }
      const byte = bytes[depth]!;
      const child = node.next.get(byte);
      if (child === undefined) {
        node.next.set(byte, form);
        return;
      }
      if (!(child instanceof Branch) && Buffer.compare(child.bytes, bytes) === 0) return;
      const branch = child instanceof Branch ? child : split(child, depth + 1);
      node.next.set(byte, branch);
      node = branch;
    }
  }

  /** Does a form stand at `at`, or begin there? */
  walk(bytes: Uint8Array, at: number): boolean {
    this.end = nothing;
    this.found = null;
    this.unfinished = null;
    this.#follow(bytes, at, this.#roots.plain, 0, 'plain', false);
    this.#follow(bytes, at, this.#roots.base64, 0, 'base64', false);
    this.#follow(bytes, at, this.#roots.hex, 0, 'hex', false);
    this.#seen = null;
    return this.found !== null || this.unfinished !== null;
  }

  /** `broken`: a line has just ended. */
  #follow(bytes: Uint8Array, at: number, from: Node<L>, begun: number, kind: FormKind, broken: boolean): void {
    let node = from;
    let afterLine = broken;
    let depth = begun;
    for (let here = at; ; depth++) {
      if (!afterLine) this.#noteWhole(node, depth, here);
      if (isDone(node, depth)) return;
      if (here >= bytes.length) {
        this.unfinished ??= anyOf(node);
        return;
      }
      const byte = bytes[here]!;
      const plain = step(node, depth, kind === 'hex' ? lowerCase(byte) : byte);
      if (signs[byte] === 0) {
        if (plain === null) return;
        node = plain;
        here++;
        afterLine = false;
        continue;
      }
      const token = readEscape(bytes, here);
      if (token === unfinished) this.#noteCut(bytes, here, node, depth, kind);
      else if (token !== nothing) {
        const value = byteOfEscape(token);
        const after = here + bytesOfEscape(token);
        const isLineEnd = value === lineEnd;
        // Never two at a time: an empty line is where a text ends.
        const passes = isLineEnd && kind !== 'plain' && depth > 0 && !afterLine;
        const read = isLineEnd ? (passes ? node : null) : step(node, depth, kind === 'hex' ? lowerCase(value) : value);
        if (read !== null && plain === null) {
          node = read;
          here = after;
          afterLine = isLineEnd;
          if (isLineEnd) depth--;
          continue;
        }
        // A sign that belongs to the secret itself may be written either way.
        if (read !== null) {
          if (this.#wasHere(node, here, depth)) return;
          this.#follow(bytes, after, read, isLineEnd ? depth : depth + 1, kind, isLineEnd);
        }
      }
      if (plain === null) return;
      node = plain;
      here++;
      afterLine = false;
    }
  }

  /** No place is gone on from twice: a secret of nothing but backslashes can be read in very many ways. */
  #wasHere(node: Node<L>, at: number, depth: number): boolean {
    this.#seen ??= new Map();
    let places = this.#seen.get(node);
    if (places === undefined) {
      places = new Set();
      this.#seen.set(node, places);
    }
    const place = at * 2 ** 20 + depth;
    if (places.has(place)) return true;
    places.add(place);
    return false;
  }

  #noteWhole(node: Node<L>, depth: number, end: number): void {
    const whole = node instanceof Branch ? node.whole : depth === node.bytes.length ? node : null;
    if (whole === null || end <= this.end) return;
    this.end = end;
    this.found = whole;
  }

  /** The bytes end inside an escape. */
  #noteCut(bytes: Uint8Array, at: number, node: Node<L>, depth: number, kind: FormKind): void {
    const begun = Buffer.from(bytes.subarray(at)).toString('latin1');
    const fits = (byte: number): boolean =>
      mayBecome(begun, byte) || (kind === 'hex' && mayBecome(begun, upperCase(byte)));
    const ends = kind !== 'plain' && depth > 0 && mayEndLine(begun);
    const goesOn = ends || (node instanceof Branch ? [...node.next.keys()].some(fits) : fits(node.bytes[depth]!));
    if (goesOn) this.unfinished ??= anyOf(node);
  }
}

function split<L>(form: LabelledForm<L>, depth: number): Branch<L> {
  const branch = new Branch<L>();
  if (form.bytes.length === depth) branch.whole = form;
  else branch.next.set(form.bytes[depth]!, form);
  return branch;
}

function step<L>(node: Node<L>, depth: number, byte: number): Node<L> | null {
  if (node instanceof Branch) return node.next.get(byte) ?? null;
  return node.bytes[depth] === byte ? node : null;
}

/** Nothing goes on from here. */
function isDone<L>(node: Node<L>, depth: number): boolean {
  return node instanceof Branch ? node.next.size === 0 : depth === node.bytes.length;
}

function anyOf<L>(node: Node<L>): LabelledForm<L> | null {
  let here = node;
  while (here instanceof Branch) {
    const child: Node<L> | undefined = here.next.values().next().value;
    if (child === undefined) return here.whole;
    here = child;
  }
  return here;
}

function lowerCase(byte: number): number {
  return byte >= 0x41 && byte <= 0x46 ? byte | 0x20 : byte;
}

function upperCase(byte: number): number {
  return byte >= 0x61 && byte <= 0x66 ? byte & ~0x20 : byte;
}

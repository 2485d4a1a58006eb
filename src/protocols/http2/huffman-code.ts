// The Huffman code of HPACK (RFC 7541 appendix B). It is canonical: which symbols have how many bits says all of it. Read four
// bits at a time by a table; what is not padded as demanded is refused.

/** For each length in bits, the symbols that have it, in order. 256 is the end, which may never be written. */
const symbolsByBits: readonly (readonly [number, readonly number[]])[] = [
  [5, [48, 49, 50, 97, 99, 101, 105, 111, 115, 116]],
  [
    6,
    [32, 37, 45, 46, 47, 51, 52, 53, 54, 55, 56, 57, 61, 65, 95, 98, 100, 102, 103, 104, 108, 109, 110, 112, 114, 117],
  ],
  [
    7,
    [
      58, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 89, 106, 107, 113,
      118, 119, 120, 121, 122,
    ],
  ],
  [8, [38, 42, 44, 59, 88, 90]],
  [10, [33, 34, 40, 41, 63]],
  [11, [39, 43, 124]],
  [12, [35, 62]],
  [13, [0, 36, 64, 91, 93, 126]],
  [14, [94, 125]],
  [15, [60, 96, 123]],
  [19, [92, 195, 208]],
  [20, [128, 130, 131, 162, 184, 194, 224, 226]],
  [21, [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230]],
  [
    22,
    [
      129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190, 196, 198,
      228, 232, 233,
    ],
  ],
  [
    23,
    [
      1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180, 182,
      183, 188, 191, 197, 231, 239,
    ],
  ],
  [24, [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237]],
  [25, [199, 207, 234, 235]],
  [26, [192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255]],
  [27, [203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254]],
  [
    28,
    [2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 127, 220, 249],
  ],
  [30, [10, 13, 22, 256]],
];

const endSymbol = 256;
/** The tree has 257 leaves, so 256 nodes that are none. */
const nodes = 256;
const failed = 0xffff;

// For a node and the next four bits: the node after them, and the symbol that ended among them (0xffff: none; no code is
// shorter than five bits, so there is at most one).
const nextNode = new Uint16Array(nodes * 16);
const ended = new Uint16Array(nodes * 16);
/** Where the bits may end: at the root, or after less than a byte of ones. */
const mayEnd = new Uint8Array(nodes);

buildTables();

function buildTables(): void {
  const { left, right } = buildTree();
  for (let node = 0; node < nodes; node++) {
    for (let bits = 0; bits < 16; bits++) {
      let at = node;
      let symbol = failed;
      for (let bit = 3; bit >= 0 && at !== failed; bit--) {
        const to = ((bits >> bit) & 1) === 0 ? left[at]! : right[at]!;
        if (to >= 0) at = to;
        else if (-to - 1 === endSymbol) at = failed;
        else {
          symbol = -to - 1;
          at = 0;
        }
      }
      nextNode[node * 16 + bits] = at;
      ended[node * 16 + bits] = symbol;
    }
  }
  for (let at = 0, depth = 0; depth < 8 && at >= 0; depth++) {
    mayEnd[at] = 1;
    at = right[at]!;
  }
}

/** Children: a node from 0 on, or `-1 - symbol`. */
function buildTree(): { left: Int16Array; right: Int16Array } {
  const left = new Int16Array(nodes);
  const right = new Int16Array(nodes);
  let made = 1;
  let code = 0;
  let lastBits = 0;
  for (const [bits, symbols] of symbolsByBits) {
    for (const symbol of symbols) {
      code <<= bits - lastBits;
      lastBits = bits;
      let at = 0;
      for (let bit = bits - 1; bit > 0; bit--) {
        const side = ((code >> bit) & 1) === 0 ? left : right;
        if (side[at] === 0) side[at] = made++;
        at = side[at]!;
      }
      ((code & 1) === 0 ? left : right)[at] = -1 - symbol;
      code++;
    }
  }
  return { left, right };
}

/** Into `to`, which has room for 8/5 of it. The bytes written; -1: this is no Huffman code. */
export function decodeHuffman(bytes: Buffer, start: number, end: number, to: Buffer): number {
  let node = 0;
  let at = 0;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    let step = node * 16 + (byte >> 4);
    node = nextNode[step]!;
    if (node === failed) return -1;
    let symbol = ended[step]!;
    if (symbol !== failed) to[at++] = symbol;
    step = node * 16 + (byte & 15);
    node = nextNode[step]!;
    if (node === failed) return -1;
    symbol = ended[step]!;
    if (symbol !== failed) to[at++] = symbol;
  }
  return mayEnd[node] === 1 ? at : -1;
}

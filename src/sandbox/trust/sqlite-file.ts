// One small table with its indexes as a file of SQLite 3 (https://www.sqlite.org/fileformat2.html), each in a page of its own.
// For the database of certificates that browsers read; what does not fit into a page is an error, never a broken file.

export type SqliteValue = number | Buffer | null;

export interface SqliteTable {
  readonly table: string;
  /** The first is the primary key. */
  readonly columns: readonly string[];
  /** That of the first column. */
  readonly definition: string;
  readonly rows: readonly (readonly SqliteValue[])[];
  /** Their names, each with its column. */
  readonly indexes: Readonly<Record<string, string>>;
}

const pageBytes = 4096;
const headerBytes = 100;
const tableLeaf = 0x0d;
const indexLeaf = 0x0a;

export function sqliteFile({ table, columns, definition, rows, indexes }: SqliteTable): Buffer {
  const key = columns[0]!;
  const create = `CREATE TABLE ${table} (${[definition, ...columns.slice(1)].join(', ')})`;
  const all = [
    { name: `sqlite_autoindex_${table}_1`, column: key, sql: null },
    ...Object.entries(indexes).map(([name, column]) => ({
      name,
      column,
      sql: `CREATE INDEX ${name} ON ${table} (${column})`,
    })),
  ];
  const schema = [
    ['table', table, table, 2, create],
    ...all.map(({ name, sql }, index) => ['index', name, table, 3 + index, sql]),
  ].map((row) => row.map((value) => (typeof value === 'string' ? new Text(value) : value)));
  const pages = [
    tablePage(schema, headerBytes),
    tablePage(rows, 0),
    ...all.map(({ column }) => indexPage(rows, columns.indexOf(column))),
  ];
  writeHeader(pages[0]!, pages.length);
  return Buffer.concat(pages);
}

/** Only the schema has texts. */
class Text {
  readonly bytes: Buffer;

  constructor(text: string) {
    this.bytes = Buffer.from(text);
  }
}

function tablePage(rows: readonly (readonly (SqliteValue | Text)[])[], from: number): Buffer {
  const cells = rows.map((row, index) => {
    const payload = record(row);
    return Buffer.concat([varint(payload.length), varint(index + 1), payload]);
  });
  return leaf(tableLeaf, cells, from);
}

/** Of a column's values and the rows they stand in, in order: nothing first, then numbers, then bytes. */
function indexPage(rows: SqliteTable['rows'], column: number): Buffer {
  const entries = rows.map((row, index) => [row[column] ?? null, index + 1] as const);
  entries.sort(([a, rowA], [b, rowB]) => compare(a, b) || rowA - rowB);
  const cells = entries.map((entry) => {
    const payload = record(entry);
    if (payload.length > longestInIndex)
      throw new Error('a value is too long for an index of the certificate database');
    return Buffer.concat([varint(payload.length), payload]);
  });
  return leaf(indexLeaf, cells, 0);
}

/** What is longer goes to pages of its own, which are not written here. */
const longestInIndex = Math.floor(((pageBytes - 12) * 64) / 255) - 23;

function compare(a: SqliteValue, b: SqliteValue): number {
  const rank = (value: SqliteValue): number => (value === null ? 0 : typeof value === 'number' ? 1 : 2);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (a instanceof Buffer && b instanceof Buffer) return Buffer.compare(a, b);
  return rank(a) - rank(b);
}

function leaf(kind: number, cells: readonly Buffer[], from: number): Buffer {
  const page = Buffer.alloc(pageBytes);
  let end = pageBytes;
  for (const [index, cell] of cells.entries()) {
    end -= cell.length;
    if (end < from + 8 + 2 * cells.length)
      throw new Error('the CA is too large for the certificate database of browsers');
    cell.copy(page, end);
    page.writeUInt16BE(end, from + 8 + 2 * index);
  }
  page[from] = kind;
  page.writeUInt16BE(cells.length, from + 3);
  page.writeUInt16BE(end, from + 5);
  return page;
}

function record(values: readonly (SqliteValue | Text)[]): Buffer {
  const types: Buffer[] = [];
  const bodies: Buffer[] = [];
  for (const value of values) {
    if (value === null) types.push(varint(0));
    else if (typeof value === 'number') {
      // A number of four bytes.
      types.push(varint(4));
      const body = Buffer.alloc(4);
      body.writeInt32BE(value);
      bodies.push(body);
    } else {
      const [bytes, kind] = value instanceof Text ? [value.bytes, 13] : [value, 12];
      types.push(varint(kind + 2 * bytes.length));
      bodies.push(bytes);
    }
  }
  const head = Buffer.concat(types);
  // Its own length counts too, and may take another byte.
  const length = head.length < 127 ? head.length + 1 : head.length + 2;
  return Buffer.concat([varint(length), head, ...bodies]);
}

function varint(value: number): Buffer {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return Buffer.from(bytes);
}

function writeHeader(page: Buffer, pages: number): void {
  page.write('SQLite format 3\0', 0, 'latin1');
  page.writeUInt16BE(pageBytes, 16);
  // Versions of the format, then fixed numbers.
  page.set([1, 1, 0, 64, 32, 32], 18);
  const numbers: Readonly<Record<number, number>> = { 24: 1, 28: pages, 40: 1, 44: 4, 56: 1, 92: 1, 96: 3_040_000 };
  for (const [at, value] of Object.entries(numbers)) page.writeUInt32BE(value, Number(at));
}

import { describe, expect, test } from 'vitest';
import { parseSocketTable, SocketTables, tableForm } from '../../../../src/sandbox/shim/socket-table.ts';

const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const row =
  '  12: 0100007F:8DED 0100007F:0C38 01 00000000:00000000 00:00000000 00000000 54321        0 16521 1 00000000d33c59aa 20 4 30 10 -1';

describe('the table of sockets', () => {
  test('is read row by row, in its order', () => {
    const [first, second, ...rest] = parseSocketTable(`${head}\n${row}\n${row.replace(' 01 ', ' 0A ')}\n`);
    expect(first).toEqual({ local: '0100007F:8DED', remote: '0100007F:0C38', state: 1, uid: 54_321, inode: 16_521 });
    expect(second?.state).toBe(10);
    expect(rest).toEqual([]);
  });

  test('writes addresses as the kernel of this machine does', () => {
    expect(tableForm('127.0.0.1', 3128, 'tcp')).toBe('0100007F:0C38');
    expect(tableForm('127.0.0.1', 80, 'tcp6')).toBe('0000000000000000FFFF00000100007F:0050');
    expect(tableForm('::1', 65_535, 'tcp6')).toBe('00000000000000000000000001000000:FFFF');
    expect(() => tableForm('2001:db8::1', 1, 'tcp6')).toThrow('not the loopback address');
  });

  test('is read once for all who ask while it is being read, and never from before they asked', async () => {
    const tables = new SocketTables();
    const first = tables.read('tcp');
    const second = tables.read('tcp');
    const third = tables.read('tcp');
    expect(second).not.toBe(first);
    expect(third).toBe(second);
    await Promise.all([first, second]);
    expect(tables.read('tcp')).not.toBe(second);
  });
});

import { describe, expect, test } from 'vitest';
import { gatewayAnswers } from '../../../../../src/stages/accept/doors/gateway-door.ts';

describe('what names are answered with', () => {
  test.each([
    ['a door alone', '172.30.0.2', ['172.30.0.2'], { v4: '172.30.0.2', v6: null }],
    ['one of each family', '172.30.0.2', ['172.30.0.2', '2001:db8::2'], { v4: '172.30.0.2', v6: '2001:db8::2' }],
    [
      'the same from the other side',
      '2001:db8::2',
      ['172.30.0.2', '2001:db8::2'],
      { v4: '172.30.0.2', v6: '2001:db8::2' },
    ],
    ['two networks', '172.30.0.2', ['172.30.0.2', '172.31.0.2'], { v4: '172.30.0.2', v6: null }],
    [
      'two networks and one IPv6, of which nobody knows whose it is',
      '172.31.0.2',
      ['172.30.0.2', '172.31.0.2', '2001:db8::2'],
      { v4: '172.31.0.2', v6: null },
    ],
  ])('%s', (_what, own, all, expected) => {
    expect(gatewayAnswers(own, all)).toEqual(expected);
  });
});

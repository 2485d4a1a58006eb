import { describe, expect, test } from 'vitest';
import { agreedExtension, readableOffers } from '../../../../src/protocols/websocket/websocket-extensions.ts';

describe('what a client offers is cut down to what can be read', () => {
  test.each([
    [['permessage-deflate; client_max_window_bits'], 'permessage-deflate; client_max_window_bits'],
    [['x-other, permessage-deflate', 'bbf-usp'], 'permessage-deflate'],
    [
      ['permessage-deflate; server_max_window_bits=10, permessage-deflate'],
      'permessage-deflate; server_max_window_bits=10, permessage-deflate',
    ],
    [['Permessage-Deflate; Server_No_Context_Takeover'], 'Permessage-Deflate; Server_No_Context_Takeover'],
    [['permessage-deflate; server_max_window_bits="10"'], 'permessage-deflate; server_max_window_bits="10"'],
    [['permessage-deflate; server_max_window_bits'], null],
    [['permessage-deflate; server_max_window_bits=7'], null],
    [['permessage-deflate; client_no_context_takeover=1'], null],
    [['permessage-deflate; dictionary=1'], null],
    [['permessage-deflate; client_max_window_bits; client_max_window_bits'], null],
    [['permessage-bzip2'], null],
    [[''], null],
    [[], null],
  ])('%j: %s', (values, offered) => {
    expect(readableOffers(values)).toBe(offered);
  });
});

describe('what a server agrees on is what it was offered', () => {
  const plain = 'permessage-deflate';
  test.each([
    [[plain], [], null],
    [[], [], null],
    [[plain], [plain], plain],
    [[plain], ['permessage-deflate; server_no_context_takeover; client_no_context_takeover'], plain],
    [[plain], ['permessage-deflate; server_max_window_bits=9'], plain],
    [['permessage-deflate; client_max_window_bits'], ['permessage-deflate; client_max_window_bits=12'], plain],
    [['permessage-deflate; server_max_window_bits=9, permessage-deflate'], [plain], plain],
    [[], [plain], undefined],
    [[plain], ['permessage-deflate; client_max_window_bits=12'], undefined],
    [['permessage-deflate; client_max_window_bits'], ['permessage-deflate; client_max_window_bits'], undefined],
    [['permessage-deflate; server_max_window_bits=9'], [plain], undefined],
    [['permessage-deflate; server_max_window_bits=9'], ['permessage-deflate; server_max_window_bits=10'], undefined],
    [['permessage-deflate; server_no_context_takeover'], [plain], undefined],
    [[plain], [plain, plain], undefined],
    [[plain], ['x-other'], undefined],
  ])('offered %j, answered %j: %s', (offered, answered, agreed) => {
    expect(agreedExtension(offered, answered)).toBe(agreed);
  });
});

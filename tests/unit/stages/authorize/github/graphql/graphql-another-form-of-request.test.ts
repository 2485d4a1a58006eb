// GraphQL has other ways to travel than one JSON document by POST. Each could carry what the judge has not read.
import { expect, test } from 'vitest';
import { ask } from './graphql-ask.ts';

const fine = { query: '{ viewer { login } }' };

test.each([
  ['a batch', [fine, fine], {}],
  ['a batch of one', [fine], {}],
  ['GET', fine, { method: 'GET' }],
  ['PUT', fine, { method: 'PUT' }],
  ['a query in the address too', fine, { query: 'query=mutation{x}' }],
  ['a form', fine, { contentType: 'application/x-www-form-urlencoded' }],
  ['a multipart form', fine, { contentType: 'multipart/form-data; boundary=x' }],
  ['GraphQL as such', fine, { contentType: 'application/graphql' }],
  ['a persisted query', { ...fine, extensions: { persistedQuery: { version: 1, sha256Hash: 'x' } } }, {}],
  ['a document by its id', { id: 'x', variables: {} }, {}],
  ['a document beside its id', { ...fine, documentId: 'x' }, {}],
  ['no document', { variables: {} }, {}],
  ['a list of documents', { query: [fine.query] }, {}],
  ['variables that are text', { ...fine, variables: '{"a":1}' }, {}],
  ['variables that are a list', { ...fine, variables: [1] }, {}],
  ['a byte order mark', Buffer.from(`\uFEFF${JSON.stringify(fine)}`), {}],
  ['UTF-16', Buffer.from(JSON.stringify(fine), 'utf16le'), {}],
  [
    'bytes that are not UTF-8',
    Buffer.concat([Buffer.from('{"query":"{ viewer { login } } #'), Buffer.of(0xff), Buffer.from('"}')]),
    {},
  ],
  ['two documents after each other', Buffer.from(`${JSON.stringify(fine)}${JSON.stringify(fine)}`), {}],
  ['nothing', Buffer.alloc(0), {}],
])('%s is refused', async (_what, request, options) => {
  expect((await ask(fine)).said).toBe('allowed');
  expect((await ask(request, options)).said).toMatch(/^github\.graphql: /);
});

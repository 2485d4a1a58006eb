// The fields of an answer that travel on to the client: everything but what belongs to the connection it came over.
import { HeaderList } from '../flow/header-list.ts';
import { connectionNames, isHopByHop } from '../kit/hop-by-hop.ts';

interface Fields {
  readonly names: string[];
  readonly keys: string[];
  readonly values: string[];
}

export function endToEnd(fields: Fields): HeaderList {
  const list = new HeaderList(fields.names, fields.keys, fields.values);
  const named = list.has('connection') ? connectionNames(list.getAll('connection')) : null;
  return list.without((key) => isHopByHop(key) || (named?.has(key) ?? false));
}

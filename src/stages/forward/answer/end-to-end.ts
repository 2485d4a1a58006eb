// The fields of an answer that travel on to the client: everything but what belongs to the connection it came over.
import { HeaderList } from '../../../path/exchange/header-list.ts';
import { connectionNames, isHopByHop } from '../../../protocols/http/hop-by-hop.ts';

interface Fields {
  readonly names: string[];
  readonly keys: string[];
  readonly values: string[];
}

/** Takes the arrays over and closes the gaps in them: they were made for this answer and nobody else holds them. */
export function endToEnd({ names, keys, values }: Fields): HeaderList {
  const at = keys.indexOf('connection');
  const named = at < 0 ? null : connectionNames(values.filter((_, i) => keys[i] === 'connection'));
  let kept = 0;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    if (isHopByHop(key) || named?.has(key)) continue;
    names[kept] = names[i]!;
    keys[kept] = key;
    values[kept] = values[i]!;
    kept++;
  }
  names.length = kept;
  keys.length = kept;
  values.length = kept;
  return new HeaderList(names, keys, values);
}

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Now, so that what is used afterwards is what somebody still holds. */
export const collectGarbage = runInNewContext('gc') as () => void;

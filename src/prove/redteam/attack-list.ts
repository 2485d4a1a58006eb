// Every attack, in the order in which they run: first what can be seen from inside, then what is asked of the door. An attack
// that is not in this list does not run.
import type { Attack } from './attack.ts';
import { credentialAttacks } from './attacks/credentials.ts';
import { environmentAttacks } from './attacks/environment.ts';
import { evidenceAttacks } from './attacks/evidence.ts';
import { fileAttacks } from './attacks/files.ts';
import { gitAttacks } from './attacks/git.ts';
import { githubAttacks } from './attacks/github.ts';
import { kernelAttacks } from './attacks/kernel.ts';
import { nameAttacks } from './attacks/names.ts';
import { neighbourAttacks } from './attacks/neighbours.ts';
import { networkAttacks } from './attacks/network.ts';
import { processAttacks } from './attacks/processes.ts';
import { requestAttacks } from './attacks/requests.ts';
import { socketAttacks } from './attacks/sockets.ts';

export const attackList: readonly Attack[] = [
  ...environmentAttacks,
  ...fileAttacks,
  ...processAttacks,
  ...neighbourAttacks,
  ...socketAttacks,
  ...kernelAttacks,
  ...networkAttacks,
  ...nameAttacks,
  ...requestAttacks,
  ...credentialAttacks,
  ...gitAttacks,
  ...githubAttacks,
  ...evidenceAttacks,
];

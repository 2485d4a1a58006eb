// Who the command is inside its sandbox. One uid is mapped, to the caller's own: what it writes in the working directory
// belongs to the caller on the host. It is never 0: programs treat root specially, and there is nothing it could do with it.

export interface SandboxUser {
  readonly uid: number;
  readonly gid: number;
}

/** What root becomes. Agents refuse their unattended modes to uid 0, and 1000 is what programs expect of a person. */
const standInForRoot = 1000;

export function sandboxUser(uid = process.getuid?.() ?? -1, gid = process.getgid?.() ?? -1): SandboxUser {
  if (uid < 0 || gid < 0) throw new Error('this system has no uids: sandboxes need Linux');
  return { uid: uid === 0 ? standInForRoot : uid, gid: gid === 0 ? standInForRoot : gid };
}

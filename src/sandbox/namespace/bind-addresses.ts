// Binds every address in a network namespace, so that all of them are local to it: the commands for `ip`, run inside it by
// its root. They are shell lines, because they run before any program of ours can. Running them twice does no harm: a
// container that is registered again has its addresses bound already.

/** `ip` is the program's path, quoted for a shell. Fails when IPv4 addresses cannot be bound; where IPv6 is off there is nothing to do. */
export function bindEveryAddress(ip: string): string {
  const steps = [
    'link set lo up',
    'route replace local 0.0.0.0/0 dev lo',
    // The kernel's own names 127.0.0.1 as its source: an answer from 127.0.0.53 would come from there.
    'route replace local 127.0.0.0/8 dev lo',
  ];
  return `printf '%s\\n' ${steps.map((step) => `'${step}'`).join(' ')} | ${ip} -batch - && { ${ip} -6 route replace local ::/0 dev lo 2>/dev/null || :; }`;
}

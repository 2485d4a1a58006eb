// Makes every address of the world local to a network namespace: what is said to `ip` inside it, as root of it. Shell lines,
// because they run before anything of ours can. Said twice they do no more than once: a container that is registered again
// has been led home before.

/** `ip` is the program's path, quoted for a shell. Fails when IPv4 cannot be led home; where IPv6 is off there is nothing to do. */
export function bindEveryAddress(ip: string): string {
  const steps = [
    'link set lo up',
    'route replace local 0.0.0.0/0 dev lo',
    // The kernel's own names 127.0.0.1 as its source: an answer from 127.0.0.53 would come from there.
    'route replace local 127.0.0.0/8 dev lo',
  ];
  return `printf '%s\\n' ${steps.map((step) => `'${step}'`).join(' ')} | ${ip} -batch - && { ${ip} -6 route replace local ::/0 dev lo 2>/dev/null || :; }`;
}

// Makes every address of the world local to a network namespace: what is said to `ip` inside it, as root of it. Shell lines,
// because they run before anything of ours can.

/** `ip` is the program's path, quoted for a shell. Fails when IPv4 cannot be led home; where IPv6 is off there is nothing to do. */
export function leadHome(ip: string): string {
  const steps = [
    'link set lo up',
    'route add local 0.0.0.0/0 dev lo',
    // The kernel's own route for 127.0.0.0/8 would make an answer from 127.0.0.53 come from 127.0.0.1.
    'route del local 127.0.0.0/8 dev lo table local',
  ];
  return `printf '%s\\n' ${steps.map((step) => `'${step}'`).join(' ')} | ${ip} -batch - && { ${ip} -6 route add local ::/0 dev lo 2>/dev/null || :; }`;
}

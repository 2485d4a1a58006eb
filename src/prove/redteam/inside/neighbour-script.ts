// The neighbour: another sandbox of the same gateway that minds its own business. Listens on its loopback and on an abstract
// Unix socket, keeps a file in shared memory, and tells on standard output when somebody visits.

/** Runs inside, as text: must use nothing but its parameters and what `process` gives it. */
function insideNeighbour(abstractName: string, sharedFile: string, secret: string): void {
  const net = process.getBuiltinModule('node:net');
  const fs = process.getBuiltinModule('node:fs');
  const say = (value: object): boolean => process.stdout.write(`${JSON.stringify(value)}\n`);
  const serve = (name: string) =>
    net.createServer((visitor) => {
      say({ visited: name });
      visitor.on('error', () => {});
      visitor.destroy();
    });
  fs.writeFileSync(sharedFile, secret);
  serve("the neighbour's abstract socket").listen({ path: `\0${abstractName}` }, () => {
    const server = serve("the neighbour's port").listen(0, '127.0.0.1', () => {
      const address = server.address();
      say({ port: typeof address === 'object' && address !== null ? address.port : 0 });
    });
  });
  // Ends with whoever started it.
  process.stdin.on('end', () => process.exit(0)).resume();
}

export function neighbourScript(abstractName: string, sharedFile: string, secret: string): string {
  const args = [abstractName, sharedFile, secret].map((text) => JSON.stringify(text)).join(', ');
  return `const __name = (value) => value;\n(${insideNeighbour.toString()})(${args});\n`;
}

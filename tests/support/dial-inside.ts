// Connects from inside a sandbox's namespace, to many places one after the other, and tells what came back from each.
import type { TestNamespace } from './namespace.ts';

export type Dialled = { readonly place: string; readonly got: string };

/**
 * `got`: what was read first after `ping` was sent; '' where the connection ended without a byte, the name of the error where
 * it could not be opened or was reset.
 */
export async function dialInside(
  namespace: TestNamespace,
  places: readonly (readonly [address: string, port: number])[],
): Promise<Dialled[]> {
  const script = `
import json, socket, sys
for address, port in json.loads(sys.argv[1]):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(15)
    try:
        s.connect((address, port))
        s.sendall(b"ping")
        got = s.recv(100).decode("latin1")
    except OSError as error:
        got = type(error).__name__
    s.close()
    print(json.dumps({"place": f"{address} {port}", "got": got}), flush=True)`;
  const run = await namespace.run(['python3', '-c', script, JSON.stringify(places)]);
  if (run.code !== 0) throw new Error(run.stderr);
  return run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Dialled);
}

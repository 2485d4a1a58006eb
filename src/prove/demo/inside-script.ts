// What the demonstration does inside the sandbox, as one text that Node runs there: asks, pushes, looks for the key, and says
// line by line what it sent and what came back. Must use nothing but its parameter and what `process` gives it.

export interface InsideOrder {
  readonly modelUrl: string;
  readonly keyFile: string;
  readonly foreignUrl: string;
  readonly literalUrl: string;
  readonly repositoryUrl: string;
  readonly foreignApiUrl: string;
  readonly deleteUrl: string;
}

export type StepName =
  | 'model'
  | 'key-file'
  | 'host'
  | 'address'
  | 'clone'
  | 'push-main'
  | 'push-force'
  | 'foreign-repository'
  | 'delete-repository';

/** What the sandbox saw of one step. */
export interface InsideReport {
  readonly step: StepName;
  /** HTTP status, or exit code of a program; null: there was no answer. */
  readonly status: number | null;
  /** The field that tells our refusal from an answer of the other side. */
  readonly refusedAs: string | null;
  readonly text: string;
  /** The key it sent, where it sent one. */
  readonly sentKey?: string;
}

function inside(order: InsideOrder): void {
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const { spawn } = process.getBuiltinModule('node:child_process');
  const http = process.getBuiltinModule('node:http');
  const https = process.getBuiltinModule('node:https');
  const tls = process.getBuiltinModule('node:tls');
  type Seen = Omit<InsideReport, 'step'>;

  const ask = async (url: string, init: RequestInit = {}): Promise<Seen> => {
    const answer = await fetch(url, { signal: AbortSignal.timeout(10_000), ...init });
    return {
      status: answer.status,
      refusedAs: answer.headers.get('x-sallyport-refused'),
      text: await answer.text(),
    };
  };

  const run = (cwd: string, program: string, ...args: string[]): Promise<Seen> =>
    new Promise((resolve, reject) => {
      const env = { ...process.env, LC_ALL: 'C' };
      const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk));
      child.on('error', reject);
      child.on('close', (status) => resolve({ status, refusedAs: null, text }));
    });

  /** As a client does that was told of a proxy: the refusal comes inside the TLS, where clients show it. */
  const askByProxy = (url: string): Promise<Seen> =>
    new Promise((resolve, reject) => {
      const { hostname } = new URL(url);
      const proxy = new URL(process.env.SALLYPORT_PROXY ?? '');
      const authority = `${hostname}:443`;
      const tunnel = http.request({
        host: proxy.hostname,
        port: proxy.port,
        method: 'CONNECT',
        path: authority,
        headers: { host: authority },
      });
      tunnel.on('error', reject);
      tunnel.on('connect', (_, socket) => {
        const secure = tls.connect({ socket, servername: hostname });
        secure.on('error', reject);
        const request = https.request(url, { createConnection: () => secure, headers: { host: hostname } });
        request.on('error', reject);
        request.on('response', async (answer) => {
          let text = '';
          for await (const chunk of answer) text += chunk;
          const refusedAs = answer.headers['x-sallyport-refused'];
          resolve({
            status: answer.statusCode ?? null,
            refusedAs: refusedAs === undefined ? null : String(refusedAs),
            text,
          });
          secure.destroy();
        });
        request.end();
      });
      tunnel.end();
    });

  const read = (path: string): Promise<Seen> => {
    try {
      return Promise.resolve({ status: 0, refusedAs: null, text: readFileSync(path, 'utf8') });
    } catch (error) {
      return Promise.resolve({ status: 1, refusedAs: null, text: (error as Error).message });
    }
  };

  const step = async (name: StepName, act: () => Promise<Seen>): Promise<void> => {
    let seen: Seen;
    try {
      seen = await act();
    } catch (error) {
      const { message, cause } = error as Error;
      const text = cause instanceof Error ? `${message}: ${cause.message}` : message;
      seen = { status: null, refusedAs: null, text };
    }
    process.stdout.write(`${JSON.stringify({ step: name, ...seen })}\n`);
  };

  const commit = '-c user.name=agent -c user.email=agent@example.com commit --quiet --allow-empty -m work'.split(' ');
  const git = async (): Promise<void> => {
    await step('clone', () => run('.', 'git', 'clone', '--quiet', order.repositoryUrl, 'clone'));
    await run('clone', 'git', ...commit);
    await step('push-main', () => run('clone', 'git', 'push', 'origin', 'HEAD:main'));
    // A commit beside the one that the branch has: to take its place is to rewrite it.
    await step('push-force', () => run('clone', 'git', 'push', '--force', 'origin', 'HEAD:sandbox/work'));
  };
  const requests = async (): Promise<void> => {
    const key = process.env.ANTHROPIC_API_KEY ?? '';
    const body = JSON.stringify({ model: 'claude', max_tokens: 16, messages: [{ role: 'user', content: 'Hello?' }] });
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    await step('model', async () => ({
      ...(await ask(order.modelUrl, { method: 'POST', headers, body })),
      sentKey: key,
    }));
    await step('key-file', () => read(order.keyFile));
    await step('host', () => askByProxy(order.foreignUrl));
    await step('address', () => ask(order.literalUrl));
    await step('foreign-repository', () => ask(order.foreignApiUrl));
    await step('delete-repository', () => ask(order.deleteUrl, { method: 'DELETE' }));
  };
  // What a failed step left open must not keep the sandbox alive.
  void Promise.all([git(), requests()]).finally(() => process.exit());
}

/** A bundler that keeps names wraps functions in a helper, which the text must bring itself. */
export function insideScript(order: InsideOrder): string {
  return `const __name = (value) => value;\n(${inside.toString()})(${JSON.stringify(order)});\n`;
}

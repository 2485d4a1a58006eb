// One renewal: a fresh key, its public half sent over the mTLS door, and a certificate for it that is believed only if
// it is ours in every respect. The key is made here and never leaves this process.
import { generateKeyPairSync } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { dialGateway } from './dial-gateway.ts';
import { type Identity, readIdentity } from './identity.ts';
import type { ShimEndpoint } from './places.ts';

const maxAnswerBytes = 64 * 1024;
const answerTimeoutMs = 15_000;

/** The gateway said no, or something that cannot be used. The old identity is as good as before. */
export class RenewalFailed extends Error {
  override readonly name = 'RenewalFailed';
}

export async function renewIdentity(gateway: ShimEndpoint, identity: Identity, nowMs = Date.now()): Promise<Identity> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const socket = await dialGateway(gateway, identity, 'sallyport-identity/1');
  socket.write(`${JSON.stringify({ public_key: publicKey.export({ type: 'spki', format: 'pem' }) })}\n`);
  const certificate = readAnswer(await readLine(socket));
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  return checked({ certificate, key, ca: identity.files.ca }, identity, nowMs);
}

/** readIdentity has seen that it is from our CA, for our key and for a client. */
function checked(files: Identity['files'], old: Identity, nowMs: number): Identity {
  let renewed: Identity;
  try {
    renewed = readIdentity(files);
  } catch (cause) {
    throw new RenewalFailed('the gateway answered with a certificate that is not for our key or not from our CA', {
      cause,
    });
  }
  if (renewed.name !== old.name) {
    throw new RenewalFailed(`the gateway answered with a certificate for ${renewed.name} in place of ${old.name}`);
  }
  if (renewed.validUntilMs <= nowMs) throw new RenewalFailed('the gateway answered with a certificate that has ended');
  return renewed;
}

function readAnswer(line: string): string {
  let answer: unknown;
  try {
    answer = JSON.parse(line);
  } catch {
    throw new RenewalFailed('the gateway answered with something that is not JSON');
  }
  const { certificate, error, code, hint } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof error === 'string') {
    const more = [code, hint].filter((one) => typeof one === 'string').join(': ');
    throw new RenewalFailed(`the gateway refuses to renew it: ${error}${more === '' ? '' : ` (${more})`}`);
  }
  if (typeof certificate !== 'string') throw new RenewalFailed('the gateway answered without a certificate');
  return certificate;
}

function readLine(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const done = (problem: string | null, cause?: unknown): void => {
      clearTimeout(timer);
      socket.destroy();
      if (problem === null) resolve(text);
      else reject(new RenewalFailed(problem, cause === undefined ? {} : { cause }));
    };
    const timer = setTimeout(() => done('the gateway does not answer'), answerTimeoutMs);
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n')) done(null);
      else if (text.length > maxAnswerBytes) done('the gateway answers without end');
    });
    socket.on('end', () =>
      done('the gateway closed the connection without an answer: it does not take our certificate'),
    );
    socket.on('error', (error) => done('the gateway did not take our certificate, or closed the connection', error));
  });
}

// Asks Docker over its Unix socket what a container or a network is, and hears what happens to them. It only reads: there
// is no call here that changes anything, and of every answer only the fields in docker-shapes.ts are kept.
import { statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import type * as z from 'zod';
import { asDockerError, DockerError, hintForLater, notDocker } from './docker-error.ts';
import {
  containerShape,
  type DockerContainer,
  type DockerEvent,
  type DockerImage,
  type DockerNetwork,
  type DockerPlatform,
  type DockerVersion,
  eventShape,
  imageShape,
  type ListedContainer,
  listedShape,
  networkShape,
  versionShape,
  watchedEvents,
} from './docker-shapes.ts';

const answerTimeoutMs = 5_000;
const maxAnswerBytes = 16 * 1024 * 1024;
// Attributes of an event hold every label of its container.
const maxEventBytes = 1024 * 1024;
/** After a gap every container is asked about: more at once than the view has places for, and Docker has others to serve. */
const maxQuestions = 16;

export interface EventStream {
  close(): void;
}

export interface EventHandlers {
  event(event: DockerEvent): void;
  /** Called once when the stream ends, unless we closed it. */
  ended(error: DockerError): void;
}

export class DockerApi {
  readonly socket: string;
  readonly #timeoutMs: number;
  #questions = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(socket: string, timeoutMs = answerTimeoutMs) {
    this.socket = socket;
    this.#timeoutMs = timeoutMs;
  }

  version(): Promise<DockerVersion> {
    return this.#read('/version', versionShape);
  }

  /** By full id, name or the beginning of an id, as Docker takes them. */
  inspectContainer(reference: string): Promise<DockerContainer> {
    return this.#read(`/containers/${encodeURIComponent(reference)}/json`, containerShape);
  }

  /** Those that run, or are paused. */
  listContainers(): Promise<readonly ListedContainer[]> {
    return this.#read('/containers/json', listedShape);
  }

  /** By id. A Docker that cannot be asked for one platform answers for another, and says so. */
  inspectImage(id: string, platform: DockerPlatform | null): Promise<DockerImage> {
    const query = platform === null ? '' : `?platform=${encodeURIComponent(JSON.stringify(platform))}`;
    return this.#read(`/images/${encodeURIComponent(id)}/json${query}`, imageShape);
  }

  inspectNetwork(reference: string): Promise<DockerNetwork> {
    return this.#read(`/networks/${encodeURIComponent(reference)}`, networkShape);
  }

  /** Resolves when Docker has begun to tell; `sinceSeconds` (its clock): what has happened since comes first. */
  async openEvents(sinceSeconds: number, handlers: EventHandlers): Promise<EventStream> {
    const filters = encodeURIComponent(JSON.stringify(watchedEvents));
    const answer = await this.#ask(`/events?since=${sinceSeconds}&filters=${filters}`);
    let over = false;
    const end = (error: unknown): void => {
      if (over) return;
      over = true;
      answer.destroy();
      handlers.ended(asDockerError(error, this.socket));
    };
    // An interrupted stream ends with several events; only the first is reported.
    answer.once('close', () => end(new Error('it ended its stream of events')));
    answer.on('error', end);
    readLines(answer, end, (line) => {
      if (!over) handlers.event(this.#parse(line, eventShape));
    });
    return {
      close: () => {
        over = true;
        answer.destroy();
      },
    };
  }

  async #read<T>(path: string, shape: z.ZodType<T>): Promise<T> {
    if (this.#questions < maxQuestions) this.#questions++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      const answer = await this.#ask(path);
      return this.#parse(await this.#readAll(answer), shape);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#questions--;
      else next();
    }
  }

  #parse<T>(text: string, shape: z.ZodType<T>): T {
    try {
      return shape.parse(JSON.parse(text));
    } catch (error) {
      throw notDocker(this.socket, error);
    }
  }

  /** The answer once its head is there; an error when it is not a success. */
  #ask(path: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => reject(asDockerError(error, this.socket));
      try {
        this.#checkOwner();
      } catch (error) {
        fail(error);
        return;
      }
      // No version in the path: each daemon speaks its own, and the oldest that it would take differs.
      const asking = request({
        socketPath: this.socket,
        path,
        agent: false,
        headers: { host: 'docker', accept: 'application/json' },
      });
      const timer = setTimeout(() => asking.destroy(this.#slow()), this.#timeoutMs);
      asking.on('error', fail);
      // Also without an answer and without an error: so it ends when the other side changes its protocol.
      const onClose = (): void => {
        clearTimeout(timer);
        fail(new Error('it ended the connection'));
      };
      asking.once('close', onClose);
      asking.once('response', (answer) => {
        clearTimeout(timer);
        asking.off('close', onClose);
        if (answer.statusCode === 200) return resolve(answer);
        this.#readAll(answer).then((text) => fail(this.#refused(answer.statusCode ?? 0, text)), fail);
      });
      asking.end();
    });
  }

  /** Whoever owns the socket says which container is which: it must not be just anybody's. */
  #checkOwner(): void {
    const { uid } = statSync(this.socket);
    if (uid === 0 || uid === process.geteuid?.()) return;
    throw new DockerError(
      'forbidden',
      `the socket ${this.socket} belongs to user ${uid}, who is neither root nor the user of the gateway: it is not believed`,
      'Write the path of the Docker socket as docker.socket in sallyport.yaml.',
    );
  }

  async #readAll(answer: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const timer = setTimeout(() => answer.destroy(this.#slow()), this.#timeoutMs);
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) throw new Error(`its answer is longer than ${maxAnswerBytes} bytes`);
        chunks.push(chunk);
      }
    } catch (error) {
      throw asDockerError(error, this.socket);
    } finally {
      clearTimeout(timer);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  #slow(): DockerError {
    return new DockerError('slow', `Docker did not answer within ${this.#timeoutMs / 1000} s`, hintForLater);
  }

  #refused(status: number, text: string): DockerError {
    let message = '';
    try {
      message = String((JSON.parse(text) as { message?: unknown }).message ?? '');
    } catch (error) {
      return notDocker(this.socket, error);
    }
    const fault = status === 404 ? 'unknown' : 'failed';
    return new DockerError(fault, message || `Docker answered with status ${status}`, 'See what there is: docker ps');
  }
}

/** Calls `line` for each; a line that is too long, or that `line` throws at, ends it. */
function readLines(from: IncomingMessage, end: (error: unknown) => void, line: (text: string) => void): void {
  let rest = '';
  from.setEncoding('utf8');
  from.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    try {
      for (const one of lines) if (one.trim() !== '') line(one);
      if (rest.length > maxEventBytes) throw new Error('an event is too long');
    } catch (error) {
      end(error);
    }
  });
}

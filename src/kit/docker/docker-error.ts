// Why Docker could not be asked, or what it answered instead, in words for whoever runs the gateway.

/** `unknown`: Docker answered, and it has no such thing. Every other reason: nothing was learned. */
export type DockerFault = 'absent' | 'forbidden' | 'not-docker' | 'slow' | 'failed' | 'unknown';

export class DockerError extends Error {
  override readonly name = 'DockerError';
  readonly fault: DockerFault;
  readonly hint: string;

  constructor(fault: DockerFault, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.fault = fault;
    this.hint = hint;
  }
}

export function asDockerError(error: unknown, socket: string): DockerError {
  if (error instanceof DockerError) return error;
  const code = error instanceof Error && 'code' in error ? error.code : '';
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR') {
    return new DockerError(
      'absent',
      `Docker does not answer: nobody listens on ${socket}`,
      'Start Docker, or write where its socket is as docker.socket in sallyport.yaml.',
      error,
    );
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new DockerError(
      'forbidden',
      `the gateway may not use the Docker socket ${socket}`,
      'Give its user access to it, or better to a read-only view of it: sallyport docker-view --listen PATH, with that PATH as docker.socket.',
      error,
    );
  }
  if (typeof code === 'string' && code.startsWith('HPE_')) return notDocker(socket, error);
  const reason = error instanceof Error ? error.message : String(error);
  return new DockerError('failed', `Docker could not be asked on ${socket}: ${reason}`, hintForLater, error);
}

export function notDocker(socket: string, cause: unknown): DockerError {
  return new DockerError(
    'not-docker',
    `what answers on ${socket} does not speak like Docker`,
    'Write the path of the Docker socket as docker.socket in sallyport.yaml.',
    cause,
  );
}

export const hintForLater = 'See whether `docker ps` works on that machine, then try again.';

// The far side of the soak: what agents talk to, on loopback, with TLS: an API that speaks HTTP/1.1 and HTTP/2 with event
// streams, uploads and downloads, an echo of WebSockets, and the real `git http-backend`.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { WebSocketServer } from 'ws';

export const hosts = { api: 'api.test', socket: 'socket.test', git: 'git.test' };
export const gitLogin = 'robot:the-password-of-the-far-side';
const mebibyte = Buffer.alloc(1024 * 1024, 'x');

export async function startUpstreams(folder) {
  const tls = makeCertificate(folder);
  const repositories = makeRepositories(folder);
  const servers = [
    createSecureServer({ ...tls, allowHTTP1: true }, serveApi),
    createServer(tls),
    createServer(tls, (request, response) => serveGit(repositories, request, response)),
  ];
  new WebSocketServer({ server: servers[1] }).on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('error', () => {});
  });
  const sockets = new Set();
  const addresses = {};
  for (const [index, name] of ['api', 'socket', 'git'].entries()) {
    servers[index].on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    });
    await new Promise((resolve) => servers[index].listen(0, '127.0.0.1', resolve));
    addresses[hosts[name]] = `127.0.0.1:${servers[index].address().port}`;
  }
  return {
    addresses,
    caPath: tls.path,
    close() {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
    },
  };
}

function serveApi(request, response) {
  response.on('error', () => {});
  if (request.url === '/stream') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let events = 0;
    const timer = setInterval(() => {
      response.write(`data: {"event":${++events}}\n\n`);
      if (events < 20) return;
      clearInterval(timer);
      response.end('data: [DONE]\n\n');
    }, 5);
    response.on('close', () => clearInterval(timer));
  } else if (request.url === '/download') {
    response.writeHead(200, { 'content-length': String(4 * mebibyte.length) });
    for (let i = 0; i < 4; i++) response.write(mebibyte);
    response.end();
  } else if (request.url === '/never') {
    // The client goes away before there is an answer.
    request.resume();
  } else {
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ bytes }));
    });
  }
}

function serveGit(root, request, response) {
  const { headers } = request;
  if (headers.authorization !== `Basic ${Buffer.from(gitLogin).toString('base64')}`) {
    request.resume();
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    return;
  }
  serveRepositories({ root, request, response });
}

/** `git http-backend` as a web server runs it (RFC 3875). `config`: the settings of that server. */
export function serveRepositories({ root, request, response, config = '/dev/null' }) {
  const { headers, url, method } = request;
  const [path, query = ''] = url.split('?');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_GLOBAL: config,
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: method,
      CONTENT_TYPE: headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      GIT_PROTOCOL: headers['git-protocol'] ?? '',
      REMOTE_ADDR: '127.0.0.1',
      ...(headers['content-length'] !== undefined && { CONTENT_LENGTH: headers['content-length'] }),
    },
  });
  request.pipe(child.stdin).on('error', () => request.resume());
  child.stderr.resume();
  let head = Buffer.alloc(0);
  const onData = (chunk) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    child.stdout.off('data', onData);
    const fields = head
      .subarray(0, end)
      .toString('latin1')
      .split('\r\n')
      .map((line) => line.split(/: */, 2));
    const status = Number.parseInt(fields.find(([name]) => name.toLowerCase() === 'status')?.[1] ?? '200', 10);
    response.writeHead(status, Object.fromEntries(fields.filter(([name]) => name.toLowerCase() !== 'status')));
    response.write(head.subarray(end + 4));
    child.stdout.pipe(response);
  };
  child.stdout.on('data', onData);
}

function makeRepositories(folder) {
  const root = join(folder, 'repositories');
  const bare = join(root, 'acme', 'app.git');
  mkdirSync(bare, { recursive: true });
  const git = (...args) =>
    execFileSync('git', args, {
      cwd: bare,
      env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', HOME: folder },
    });
  git('init', '--quiet', '--bare', '--initial-branch=main', '.');
  for (const [key, value] of Object.entries({
    'http.receivepack': 'true',
    'uploadpack.allowFilter': 'true',
    'uploadpack.allowAnySHA1InWant': 'true',
    'gc.auto': '0',
    'receive.autogc': 'false',
  }))
    git('config', key, value);
  const files = Array.from({ length: 40 }, (_, i) => {
    const text = `${i} `.repeat(2000);
    return `M 100644 inline file-${i}.txt\ndata ${text.length}\n${text}\n`;
  });
  const commit = `commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 5\nfirst\n${files.join('')}`;
  execFileSync('git', ['fast-import', '--quiet'], { cwd: bare, input: commit, env: { PATH: process.env.PATH } });
  return root;
}

function makeCertificate(folder) {
  const [key, path] = [join(folder, 'far.key'), join(folder, 'far.pem')];
  const names = Object.values(hosts)
    .map((name) => `DNS:${name}`)
    .join(',');
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const named = ['-subj', '/CN=far side', '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', path];
  execFileSync('openssl', [...made, ...named], { stdio: 'ignore' });
  return { key: readFileSync(key), cert: readFileSync(path), path };
}

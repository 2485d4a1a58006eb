// Stands in for nginx as the upstream of a smoke run, where nginx or fcgiwrap is missing: HTTP/1.1 on 9443, HTTP/2 on 9445, git
// below /g/. Says whether the injected x-api-key arrived and notes how long each git request took, as upstream.sh has nginx do it.
import fs from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import path from 'node:path';
import { keyArrived } from '../contenders.mjs';
import { work } from '../sizes.mjs';
import { serveRepositories } from '../soak/upstreams.mjs';

const certificate = {
  cert: fs.readFileSync(path.join(work, 'up.pem')),
  key: fs.readFileSync(path.join(work, 'up.key')),
};

function serve(request, response) {
  response.on('error', () => {});
  if (request.url.startsWith('/g/')) serveGit(request, response);
  else serveFile(request, response);
}

function serveFile(request, response) {
  const file = path.join(work, 'www', path.basename(request.url));
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': fs.statSync(file).size,
    'X-Seen-Key': request.headers['x-api-key'] === process.env.KEY ? keyArrived : 'wrong',
  });
  fs.createReadStream(file).pipe(response);
}

function serveGit(request, response) {
  const began = performance.now();
  const { method, url } = request;
  response.on('close', () => {
    const seconds = ((performance.now() - began) / 1000).toFixed(3);
    fs.appendFileSync(path.join(work, 'git-access.log'), `${seconds} 1 ${method} ${url}\n`);
  });
  request.url = url.slice('/g'.length);
  serveRepositories({ root: path.join(work, 'git'), request, response, config: path.join(work, '.gitconfig') });
}

fs.writeFileSync(path.join(work, 'git-access.log'), '');
createServer({ ...certificate, keepAliveTimeout: 3_600_000 }, serve).listen(9443, '127.0.0.1');
createSecureServer({ ...certificate, allowHTTP1: true }, serve).listen(9445, '127.0.0.1');

import { startPretendCodeAssist } from '../support/pretend-gemini.ts';
import { describeLogin } from '../support/pretend-login-run.ts';

describeLogin('gemini in a sandbox, with a Google login that has to be renewed', {
  shape: 'google',
  preset: 'google',
  credential: 'gemini',
  command: 'gemini --skip-trust -p hi',
  path: '.gemini/oauth_creds.json',
  userFile: ({ first }, endedMs) => ({
    access_token: first.access,
    refresh_token: first.refresh,
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    token_type: 'Bearer',
    expiry_date: endedMs,
  }),
  startProvider: startPretendCodeAssist,
  turn: /:streamGenerateContent$/,
  turnStatus: 200,
  tokenPath: '/token',
  endOf: (stub) => JSON.parse(stub).expiry_date,
  // Newer versions of Node name their first thread.
  process: /node|MainThread/,
});

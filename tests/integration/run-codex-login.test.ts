import { describeLogin } from '../support/pretend-login-run.ts';
import { startPretendChatgpt } from '../support/pretend-openai.ts';

describeLogin('codex in a sandbox, with a ChatGPT login that has to be renewed', {
  shape: 'chatgpt',
  preset: 'openai',
  credential: 'chatgpt',
  command: 'codex exec --skip-git-repo-check hi',
  path: '.codex/auth.json',
  userFile: ({ first, account }, endedMs) => ({
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens: { id_token: first.access, access_token: first.access, refresh_token: first.refresh, account_id: account },
    last_refresh: new Date(endedMs).toISOString(),
  }),
  startProvider: startPretendChatgpt,
  turn: /\/codex\/responses$/,
  turnStatus: 101,
  tokenPath: '/oauth/token',
  endOf: (stub) => {
    const [, claims] = JSON.parse(stub).tokens.access_token.split('.');
    return JSON.parse(Buffer.from(claims, 'base64url').toString()).exp * 1000;
  },
  process: /codex/,
});

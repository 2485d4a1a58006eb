import { describeLogin } from '../support/pretend-login-run.ts';
import { startPretendChatgpt } from '../support/pretend-openai.ts';

describeLogin('opencode in a sandbox, with a ChatGPT login that has to be renewed', {
  shape: 'chatgpt',
  preset: 'openai',
  credential: 'chatgpt',
  command: 'opencode run -m openai/gpt-5.5 hi',
  path: '.local/share/opencode/auth.json',
  userFile: ({ first, account }, endedMs) => ({
    openai: { type: 'oauth', refresh: first.refresh, access: first.access, expires: endedMs, accountId: account },
  }),
  startProvider: startPretendChatgpt,
  turn: /\/codex\/responses$/,
  turnStatus: 200,
  tokenPath: '/oauth/token',
  endOf: (stub) => JSON.parse(stub).openai.expires,
  process: /opencode/,
  // It is slow to start, and its file is of the same make in a fresh home.
  again: false,
});

import { startPretendClaude } from '../support/pretend-anthropic.ts';
import { describeLogin } from '../support/pretend-login-run.ts';

describeLogin('claude in a sandbox, with a login that has to be renewed', {
  shape: 'claude',
  preset: 'anthropic',
  credential: 'anthropic',
  command: 'claude -p hi',
  path: '.claude/.credentials.json',
  userFile: ({ first }, endedMs) => ({
    claudeAiOauth: {
      accessToken: first.access,
      refreshToken: first.refresh,
      expiresAt: endedMs,
      scopes: ['user:inference', 'user:profile'],
      subscriptionType: 'max',
    },
  }),
  startProvider: startPretendClaude,
  turn: /^\/v1\/messages$/,
  turnStatus: 200,
  tokenPath: '/v1/oauth/token',
  endOf: (stub) => JSON.parse(stub).claudeAiOauth.expiresAt,
  process: /claude/,
});

// Attack: change the configuration file between the moment in which a person looks at the line and the moment in which it is
// written, so that they agree to one thing and another is written.
import { expect, test } from 'vitest';
import { askedFor, openApprovals } from '../../support/approvals-ground.ts';

const by = 'user 0';
const always = { answer: 'approve', for: 'always', scope: 'host', by } as const;

test('what is compared with what was shown is what is written, whenever the file has changed', async () => {
  const offers = ['- shown', '- shown', '- another', '- shown'];
  const written: string[] = [];
  const { service, notes } = openApprovals({
    offerLine: async () => {
      const text = offers.shift()!;
      const write = async () => void written.push(text);
      return { preview: { file: '/sallyport.yaml', line: 3, text, covers: 'all of it' }, write };
    },
  });
  service.watchers.begin();
  const held = service.ask(askedFor(), new AbortController().signal);
  const shown = await service.preview('q1', 'host');
  // Somebody looks again, as the page and the admin API once did before they answered.
  expect(await service.preview('q1', 'host')).toEqual(shown);
  const moved = { reason: 'moved', line: { text: '- another' } };
  await expect(service.answer('q1', { ...always, line: shown.text })).rejects.toMatchObject(moved);
  expect([written, notes]).toEqual([[], []]);
  await service.answer('q1', { ...always, line: shown.text });
  expect(written).toEqual(['- shown']);
  expect(await held).toMatchObject({ granted: true });
});

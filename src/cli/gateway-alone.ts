// The commands that become a gateway, as a program of their own: the source of a program stays in memory as long as it runs, and
// a gateway needs none of what attacks it, installs it or tells of it. scripts/main.cjs starts it where one of them is the first word.
import { addBackgroundCommand } from './background.ts';
import { runWithCommands } from './build-program.ts';
import { startCommand } from './start-command.ts';

startCommand((argv, context) =>
  runWithCommands(
    [
      ['A gateway of its own:', [['up', async () => (await import('./up.ts')).addUpCommand]]],
      [
        'This machine:',
        [
          ['worker', async () => (await import('./worker.ts')).addWorkerCommand],
          ['background', async () => addBackgroundCommand],
        ],
      ],
    ],
    argv,
    context,
  ),
);

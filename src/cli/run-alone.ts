// `sallyport run` as a program of its own: every sandbox is one start of it, and whatever else the command can do would only be
// read and left lying. scripts/main.cjs starts it where `run` is the first word.
import { runWithCommands } from './build-program.ts';
import { addRunCommand } from './run.ts';
import { startCommand } from './start-command.ts';

startCommand((argv, context) => runWithCommands([['Work:', [['run', async () => addRunCommand]]]], argv, context));

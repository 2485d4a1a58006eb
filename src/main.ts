// The `sallyport` command.
import { runCommandLine } from './cli/program.ts';
import { startCommand } from './cli/start-command.ts';

startCommand(runCommandLine);

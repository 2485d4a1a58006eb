// `sallyport ca`: where the CA certificate is, and the certificate itself. Never the key, and nothing is made here: the
// gateway makes its CA when it first starts.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { CliContext } from './cli-context.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

export function addCaCommand(program: Command, context: CliContext): void {
  const ca = program
    .command('ca')
    .summary('the CA certificate that sandboxes must trust')
    .description('The CA certificate that sandboxes must trust.')
    .addHelpText('after', '\nExamples:\n  sallyport ca path\n  sallyport ca export > sallyport-ca.pem');
  ca.command('path')
    .summary('where the certificate is')
    .description('Prints the path of the certificate.')
    .addHelpText('after', '\nExamples:\n  curl --cacert "$(sallyport ca path)" …')
    .action((_options: object, command: Command) => {
      const path = context.places.caCertificate;
      readCertificate(path);
      if (wantsJson(command)) printJson(context, { path });
      else context.print(path);
    });
  ca.command('export')
    .summary('the certificate, in PEM')
    .description('Prints the certificate in PEM.')
    .addHelpText('after', '\nExamples:\n  sallyport ca export > sallyport-ca.pem')
    .action((_options: object, command: Command) => {
      const pem = readCertificate(context.places.caCertificate);
      if (wantsJson(command)) printJson(context, { pem });
      else context.print(pem.trimEnd());
    });
}

function readCertificate(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new CommandFailed(
        exitCode.failure,
        `there is no CA yet at ${path}`,
        'The gateway makes it when it first starts: sallyport up',
      );
    }
    throw error;
  }
}

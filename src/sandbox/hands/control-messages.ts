// What can be asked of the process that keeps a sandbox, and what it answers. Read with care on both sides, although both are of
// one user: a message that does not fit is refused, never guessed at.
import * as z from 'zod';

const size = z.strictObject({ rows: z.int().min(1).max(10_000), columns: z.int().min(1).max(10_000) });
const text = z.string().refine((value) => !value.includes('\0'), 'cannot hold a NUL byte');
const signal = z.enum(['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGUSR1', 'SIGUSR2', 'SIGTERM']);

export const controlRequest = z.discriminatedUnion('verb', [
  z.strictObject({
    verb: z.literal('exec'),
    command: z.array(text).min(1),
    environment: z.record(z.string().regex(/^[^=\0]+$/), text),
    workingDirectory: text.nullable(),
    terminal: size.nullable(),
  }),
  z.strictObject({ verb: z.literal('signal'), exec: z.int(), signal }),
  z.strictObject({ verb: z.literal('resize'), exec: z.int(), size }),
  z.strictObject({ verb: z.literal('stop'), seconds: z.number().min(0).max(86_400) }),
]);

export type ControlRequest = z.infer<typeof controlRequest>;
export type PassedSignal = z.infer<typeof signal>;

export type ControlAnswer =
  | { readonly started: number }
  | { readonly exit: number }
  | { readonly done: true }
  | { readonly failed: { readonly message: string; readonly hint: string } };

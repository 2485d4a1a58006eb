// The operational log: what the operator reads on standard error. JSON lines in a pipe, short lines on a terminal.
// Everything passes through `redact` before pino sees it, and the finished line is masked once more. No worker
// threads: a line is written before the call returns, so the last words before a crash are not lost.
import { type DestinationStream, destination, type Logger, pino } from 'pino';
import { maskText } from '../mask-text.ts';
import { redact } from './redact.ts';
import { escapeUnseen } from './unseen.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';
export type LogDetail = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, detail?: LogDetail): void;
  info(message: string, detail?: LogDetail): void;
  warn(message: string, detail?: LogDetail): void;
  /** Give the error itself as `detail.error`: its causes are followed. */
  error(message: string, detail?: LogDetail): void;
  /** A log that says these things with every line. */
  child(detail: LogDetail): Log;
}

export interface LogOptions {
  readonly level?: LogLevel;
  /** Default: short lines when standard error is a terminal. */
  readonly format?: 'json' | 'short';
  /** Where finished lines go; default standard error. */
  readonly write?: (line: string) => void;
  readonly color?: boolean;
}

export function createLog(options: LogOptions = {}): Log {
  const onTerminal = process.stderr.isTTY === true;
  const short = (options.format ?? (onTerminal ? 'short' : 'json')) === 'short';
  const color = options.color ?? (onTerminal && !process.env.NO_COLOR);
  const write = options.write ?? standardError();
  const out: DestinationStream = {
    write: (line) => write(short ? shorten(maskText(line), color) : maskJsonLine(line)),
  };
  const logger = pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // Ours has already turned errors into plain data.
      serializers: {},
    },
    out,
  );
  return wrap(logger, {});
}

function wrap(logger: Logger, always: LogDetail): Log {
  const say = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, detail?: LogDetail) => {
    if (!logger.isLevelEnabled(level)) return;
    // One argument after the object: pino must not read `%s` in a message as a place to fill.
    logger[level]({ ...asObject(redact({ ...always, ...detail })), msg: maskText(message) });
  };
  return {
    debug: say('debug'),
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
    child: (detail) => wrap(logger, { ...always, ...detail }),
  };
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : { detail: value };
}

function standardError(): (line: string) => void {
  const stderr = destination({ fd: 2, sync: true });
  return (line) => {
    stderr.write(line);
  };
}

/** A second look at the finished line, for what only becomes readable when it is put together. */
function maskJsonLine(line: string): string {
  const masked = maskText(line.trimEnd());
  try {
    JSON.parse(masked);
    return `${masked}\n`;
  } catch {
    // The mask took a quote with it, or the line was cut: keep it whole as a text inside a line that parses.
    return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), msg: masked })}\n`;
  }
}

const colors: Readonly<Record<string, string>> = { debug: '90', info: '36', warn: '33', error: '31' };

/** `12:03:44 warn  message key=value`; an error's message and causes in line, its stack only at error level. */
function shorten(line: string, color: boolean): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line.endsWith('\n') ? line : `${line}\n`;
  }
  const { level, time, msg, ...rest } = entry;
  const name = String(level);
  const shown = name.padEnd(5);
  const parts = [
    String(time).slice(11, 19),
    color ? `\u001b[${colors[name] ?? '0'}m${shown}\u001b[0m` : shown,
    plain(msg),
  ];
  let stack = '';
  for (const [key, value] of Object.entries(rest)) {
    if (isError(value)) {
      parts.push(`${plain(key)}=${plain(messages(value))}`);
      if (level === 'error' && typeof value.stack === 'string') stack = value.stack.replace(/^[^\n]*/, '');
    } else {
      parts.push(`${plain(key)}=${plain(typeof value === 'string' ? value : JSON.stringify(value))}`);
    }
  }
  return `${parts.join(' ')}${stack.split('\n').map(plain).join('\n')}\n`;
}

interface PrintedError {
  readonly message: string;
  readonly stack?: unknown;
  readonly cause?: unknown;
}

function isError(value: unknown): value is PrintedError {
  return typeof value === 'object' && value !== null && 'message' in value && 'stack' in value;
}

function messages(error: PrintedError): string {
  return isError(error.cause) ? `${error.message}: ${messages(error.cause)}` : error.message;
}

/** Control characters would let a sandbox write to the operator's terminal. */
function plain(text: unknown): string {
  return escapeUnseen(String(text));
}

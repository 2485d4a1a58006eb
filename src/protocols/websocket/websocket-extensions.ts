// Sec-WebSocket-Extensions (RFC 6455 section 9.1) as far as it is about permessage-deflate (RFC 7692 section 7.1): what a
// client offered, cut down to what can be read, and what a server made of it. Unknown extensions are never agreed on.

/** Null: it stands there without a value. */
type Parameters = ReadonlyMap<string, number | null>;

const extensionName = 'permessage-deflate';
const withoutValue: ReadonlySet<string> = new Set(['client_no_context_takeover', 'server_no_context_takeover']);
const clientWindow = 'client_max_window_bits';
const serverWindow = 'server_max_window_bits';
const windowBits = /^(?:[89]|1[0-5])$/;

/** The offers that can be read, in the order of the client; null: none is left. */
export function readableOffers(values: readonly string[]): string | null {
  const kept = elementsOf(values).filter((element) => {
    const parameters = deflateParameters(element);
    // A client may name its own window without a value, but not the server's.
    return parameters !== null && parameters.get(serverWindow) !== null;
  });
  return kept.length === 0 ? null : kept.join(', ');
}

/**
 * What the server agreed on, `deflate` or nothing (null); `offered` are the values that were sent to it. Undefined: it
 * agreed on something that was not offered, or that cannot be read.
 */
export function agreedExtension(
  offered: readonly string[],
  answered: readonly string[],
): 'permessage-deflate' | null | undefined {
  const agreed = elementsOf(answered);
  if (agreed.length === 0) return null;
  const parameters = agreed.length === 1 ? deflateParameters(agreed[0]!) : null;
  if (parameters === null || parameters.get(serverWindow) === null || parameters.get(clientWindow) === null) return;
  const fits = elementsOf(offered).some((element) => {
    const offer = deflateParameters(element);
    return offer !== null && isAnswerTo(offer, parameters);
  });
  return fits ? extensionName : undefined;
}

/** RFC 7692 section 7.1: an answer keeps to what it was asked for. */
function isAnswerTo(offer: Parameters, answer: Parameters): boolean {
  if (offer.has('server_no_context_takeover') && !answer.has('server_no_context_takeover')) return false;
  const requested = offer.get(serverWindow);
  if (typeof requested === 'number' && (answer.get(serverWindow) ?? 15) > requested) return false;
  return !answer.has(clientWindow) || offer.has(clientWindow);
}

function elementsOf(values: readonly string[]): string[] {
  return values
    .flatMap((value) => value.split(','))
    .map((element) => element.trim())
    .filter((element) => element !== '');
}

/** Null: another extension, or one that says what nobody has defined. */
function deflateParameters(element: string): Parameters | null {
  const [name, ...rest] = element.split(';').map((part) => part.trim());
  if (name!.toLowerCase() !== extensionName) return null;
  const parameters = new Map<string, number | null>();
  for (const part of rest) {
    const [key, value, more] = part.split('=').map((word) => word.trim());
    const parameter = key!.toLowerCase();
    if (more !== undefined || parameters.has(parameter)) return null;
    if (withoutValue.has(parameter)) {
      if (value !== undefined) return null;
      parameters.set(parameter, null);
      continue;
    }
    if (parameter !== clientWindow && parameter !== serverWindow) return null;
    const bits = value?.replace(/^"(.*)"$/, '$1');
    if (bits !== undefined && !windowBits.test(bits)) return null;
    parameters.set(parameter, bits === undefined ? null : Number(bits));
  }
  return parameters;
}

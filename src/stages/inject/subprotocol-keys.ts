// Browsers cannot set headers on a WebSocket, so OpenAI also takes the key as a subprotocol (`realtime,
// openai-insecure-api-key.sk-…`). That is one more place where a sandbox's own key could go out.

const keyBearing = /^openai-(?:insecure-api-key|organization|project)\./i;

/** A Sec-WebSocket-Protocol value without the offers that carry auth; null when no offer is left. */
export function withoutSubprotocolKeys(value: string): string | null {
  const offers = value.split(',');
  const kept = offers.filter((offer) => !keyBearing.test(offer.trim()));
  if (kept.length === offers.length) return value;
  const text = kept.join(',').trim();
  return text === '' ? null : text;
}

// Effects of requests to a provider that reach beyond them: refused unless an entry of `allow` names them.

/** `mint-credential`: the answer is a credential, or who may get one. `remote-agent`: something works on elsewhere. */
export const providerEffects = ['mint-credential', 'remote-agent'] as const;

export type ProviderEffect = (typeof providerEffects)[number];

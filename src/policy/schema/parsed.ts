// The outcome of reading one small text (a host, a path pattern, an address): a value, or the sentence that says
// what is wrong with it and what to write instead.

export type Parsed<T> = { readonly value: T } | { readonly problem: string };

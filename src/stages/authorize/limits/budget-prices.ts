// What a model costs: the operator's own prices first, then those that ship with the package (config/prices.yaml). A model
// that nobody has listed costs as much as the most expensive of its provider, and one of nobody as much as any: an unknown
// name never makes anything cheaper.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { inPackage } from '../../../kit/files/package-root.ts';
import { compileGlob, type Glob } from '../../../kit/text/glob.ts';
import type { TokenUse } from '../../../path/exchange/answer-meter.ts';
import type { Budgets, ModelPrice } from '../../../policy/compiled-limits.ts';

interface Priced {
  readonly name: Glob;
  readonly price: ModelPrice;
}

interface Provider {
  readonly names: readonly Glob[];
  readonly models: readonly Priced[];
  /** Its prices say nothing about models that are not in it. */
  readonly isApart: boolean;
  /** Of each, the highest in its list. */
  readonly dearest: ModelPrice;
}

interface PriceList {
  readonly providers: readonly Provider[];
  readonly dearest: ModelPrice;
}

/** A sandbox that may choose among many models must not make us remember them all. */
const maxRemembered = 512;

export class ModelPrices {
  readonly #list: PriceList;
  #ownOf: Budgets['prices'] = [];
  #own: readonly Priced[] = [];
  readonly #remembered = new Map<string, ModelPrice>();

  constructor(list: PriceList = loadPrices()) {
    this.#list = list;
  }

  /** In millionths of a US dollar: a dollar for a million tokens is a millionth of it for one. */
  costOf(use: TokenUse, own: Budgets['prices']): number {
    const { input, output, cacheRead, cacheWrite } = this.priceOf(use.model, own);
    return Math.ceil(use.input * input + use.output * output + use.cacheRead * cacheRead + use.cacheWrite * cacheWrite);
  }

  priceOf(model: string | null, own: Budgets['prices']): ModelPrice {
    if (model === null) return this.#find('', own);
    if (own !== this.#ownOf || this.#remembered.size >= maxRemembered) this.#remembered.clear();
    let price = own === this.#ownOf ? this.#remembered.get(model) : undefined;
    if (price === undefined) {
      price = this.#find(model, own);
      this.#remembered.set(model, price);
    }
    return price;
  }

  #find(model: string, own: Budgets['prices']): ModelPrice {
    if (own !== this.#ownOf) {
      this.#ownOf = own;
      this.#own = own.map(({ pattern, price }) => ({ name: globOf(pattern), price }));
    }
    const names = namesOf(model);
    const fits = (glob: Glob): boolean => names.some((name) => glob.covers(name));
    const listed = this.#own.find(({ name }) => fits(name));
    if (listed !== undefined) return listed.price;
    const provider = this.#list.providers.find(({ names: theirs }) => theirs.some(fits));
    if (provider === undefined) return this.#list.dearest;
    return provider.models.find(({ name }) => fits(name))?.price ?? provider.dearest;
  }
}

/** The name as it is, and without the maker before it: `anthropic/claude-…`. */
function namesOf(model: string): readonly string[] {
  const name = model.toLowerCase();
  const bare = name.slice(name.lastIndexOf('/') + 1);
  return bare === name ? [name] : [name, bare];
}

let loaded: PriceList | null = null;

/** Read once; a mistake in it is a fault of the package and stops the start. */
export function loadPrices(): PriceList {
  loaded ??= readPrices(parse(readFileSync(inPackage('config', 'prices.yaml'), 'utf8')));
  return loaded;
}

export function readPrices(document: unknown): PriceList {
  const sections = Object.entries(membersOf(document, 'the list')).filter(([name]) => name !== 'as_of');
  const providers = sections.map(([name, section]): Provider => {
    const { names, models, apart = false } = membersOf(section, name);
    if (!Array.isArray(names)) throw broken(`${name}.names`);
    const priced = Object.entries(membersOf(models, `${name}.models`)).map(([pattern, price]) => ({
      name: globOf(pattern),
      price: priceIn(price, `${name}.models.${pattern}`),
    }));
    const dearest = highest(priced.map(({ price }) => price));
    return { names: names.map((one) => globOf(String(one))), models: priced, isApart: apart === true, dearest };
  });
  const usual = providers.filter(({ isApart }) => !isApart);
  if (usual.length === 0) throw broken('the list');
  return { providers, dearest: highest(usual.map(({ dearest }) => dearest)) };
}

/** `*` stands for anything, a slash too. */
function globOf(pattern: string): Glob {
  return compileGlob(pattern.toLowerCase().replaceAll(/\*+/g, '**'));
}

function priceIn(value: unknown, where: string): ModelPrice {
  const { input, output, cache_read = input, cache_write = input, ...rest } = membersOf(value, where);
  const price = { input, output, cacheRead: cache_read, cacheWrite: cache_write };
  const isPrice = Object.values(price).every((one) => typeof one === 'number' && one >= 0);
  if (!isPrice || Object.keys(rest).length > 0) throw broken(where);
  return price as ModelPrice;
}

function highest(prices: readonly ModelPrice[]): ModelPrice {
  const most = (of: (price: ModelPrice) => number): number => Math.max(0, ...prices.map(of));
  return {
    input: most(({ input }) => input),
    output: most(({ output }) => output),
    cacheRead: most(({ cacheRead }) => cacheRead),
    cacheWrite: most(({ cacheWrite }) => cacheWrite),
  };
}

function membersOf(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw broken(where);
  return value as Record<string, unknown>;
}

function broken(where: string): Error {
  return new Error(`config/prices.yaml is broken at ${where}`);
}

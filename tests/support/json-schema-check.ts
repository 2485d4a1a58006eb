// A small judge of JSON Schema (draft 7), written apart from what makes ours: the keywords that ours has and no others, so that a
// new one cannot go unjudged.
type Keywords = Readonly<Record<string, unknown>>;
export type Schema = boolean | Keywords;

const annotations = new Set(['$schema', 'title', 'description', 'default', 'examples', 'definitions']);

type Judge = (rule: never, given: unknown, at: string, schema: Keywords) => string[];

export class SchemaCheck {
  readonly #root: Keywords;

  constructor(root: Keywords) {
    this.#root = root;
  }

  /** What is wrong with `given`, as places and words; empty: it fits. */
  problems(given: unknown, schema: Schema = this.#root, at = '$'): string[] {
    if (typeof schema === 'boolean') return schema ? [] : [`${at}: nothing may stand here`];
    return Object.entries(schema).flatMap(([keyword, rule]) => {
      if (annotations.has(keyword)) return [];
      const judge = this.#judges[keyword];
      if (judge === undefined) throw new Error(`the keyword ${keyword} is not known here`);
      return judge(rule as never, given, at, schema);
    });
  }

  #fits(given: unknown, schema: Schema): boolean {
    return this.problems(given, schema).length === 0;
  }

  readonly #judges: Readonly<Record<string, Judge>> = {
    $ref: (rule: string, given, at) => this.problems(given, this.#find(rule), at),
    type: (rule: string | string[], given, at) =>
      unless(
        [rule].flat().some((type) => isOfType(given, type)),
        `${at}: not of type ${String(rule)}`,
      ),
    const: (rule: unknown, given, at) => unless(given === rule, `${at}: not ${String(rule)}`),
    enum: (rule: unknown[], given, at) => unless(rule.includes(given), `${at}: none of ${rule.join(', ')}`),
    pattern: (rule: string, given, at) =>
      unless(typeof given !== 'string' || new RegExp(rule).test(given), `${at}: does not match ${rule}`),
    minLength: (rule: number, given, at) =>
      unless(typeof given !== 'string' || given.length >= rule, `${at}: too short`),
    minimum: (rule: number, given, at) => unless(typeof given !== 'number' || given >= rule, `${at}: too small`),
    exclusiveMinimum: (rule: number, given, at) =>
      unless(typeof given !== 'number' || given > rule, `${at}: too small`),
    maximum: (rule: number, given, at) => unless(typeof given !== 'number' || given <= rule, `${at}: too large`),
    minItems: (rule: number, given, at) => unless(!Array.isArray(given) || given.length >= rule, `${at}: too few`),
    items: (rule: Schema, given, at) =>
      Array.isArray(given) ? given.flatMap((one, i) => this.problems(one, rule, `${at}[${i}]`)) : [],
    required: (rule: string[], given, at) =>
      isMap(given) ? rule.filter((key) => !(key in given)).map((key) => `${at}.${key}: missing`) : [],
    properties: (rule: Record<string, Schema>, given, at) =>
      isMap(given)
        ? Object.entries(rule).flatMap(([key, one]) =>
            key in given ? this.problems(given[key], one, `${at}.${key}`) : [],
          )
        : [],
    additionalProperties: (rule: Schema, given, at, { properties = {} }) =>
      isMap(given)
        ? Object.keys(given)
            .filter((key) => !(key in Object(properties)))
            .flatMap((key) => this.problems(given[key], rule, `${at}.${key}`))
        : [],
    propertyNames: (rule: Schema, given, at) =>
      isMap(given) ? Object.keys(given).flatMap((key) => this.problems(key, rule, `${at}.${key} (its name)`)) : [],
    allOf: (rule: Schema[], given, at) => rule.flatMap((one) => this.problems(given, one, at)),
    anyOf: (rule: Schema[], given, at) =>
      unless(
        rule.some((one) => this.#fits(given, one)),
        `${at}: fits none of the forms`,
      ),
    oneOf: (rule: Schema[], given, at) =>
      unless(rule.filter((one) => this.#fits(given, one)).length === 1, `${at}: not exactly one of the forms`),
  };

  #find(ref: string): Schema {
    const steps = ref.replace(/^#\//, '').split('/');
    return steps.reduce<unknown>((here, step) => Reflect.get(Object(here), step), this.#root) as Schema;
  }
}

function unless(isRight: boolean, problem: string): string[] {
  return isRight ? [] : [problem];
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isMap(value);
  if (type === 'integer') return Number.isInteger(value);
  // The rest are names that JavaScript has too.
  return typeof value === type;
}

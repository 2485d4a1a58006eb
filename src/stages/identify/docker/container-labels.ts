// The labels of a container become a registration: `sallyport.repos=owner/a,owner/b` and the like. A label that is not known
// registers nothing, because a misspelt restriction would otherwise be none.
import { labelPrefix } from '../../../kit/docker/docker-shapes.ts';

export interface LabelledContainer {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Label, without its prefix: it is the key of the registration; whether it is a list. */
const known = new Map([
  ['id', false],
  ['repos', true],
  ['auth_mode', false],
  ['allowed_branches', true],
  ['credentials', true],
]);

export class LabelError extends Error {
  override readonly name = 'LabelError';
  readonly hint: string;

  constructor(message: string, hint = '') {
    super(message);
    this.hint = hint;
  }
}

/** As `POST /internal/containers` takes it, which judges the values. Throws a LabelError for a label it does not know. */
export function registrationFromLabels({ id, name, labels }: LabelledContainer): Record<string, unknown> {
  const registration: Record<string, unknown> = { container_id: id };
  for (const [label, value] of Object.entries(labels)) {
    const key = label.slice(labelPrefix.length);
    const isList = known.get(key);
    if (!label.startsWith(labelPrefix) || isList === undefined) {
      const all = [...known.keys()].map((one) => labelPrefix + one);
      throw new LabelError(`${label} is not a label of Sallyport (labels: ${all.join(', ')})`);
    }
    registration[key] = isList ? listOf(value) : value.trim();
  }
  // So that it is found again under the same id after a restart.
  return { id: idFrom(name), ...registration };
}

/** Empty: an empty list, which allows nothing. */
function listOf(value: string): string[] {
  return value
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

/** A name is longer at most, and may have capitals. */
function idFrom(name: string): string {
  return name.toLowerCase().slice(0, 63);
}

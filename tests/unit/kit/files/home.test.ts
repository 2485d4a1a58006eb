import { describe, expect, test } from 'vitest';
import { findHome, placesIn } from '../../../../src/kit/files/home.ts';

describe('the state of the gateway lies in one place', () => {
  test('SALLYPORT_HOME names it; without it, or with an empty one, it is in the home of the user', () => {
    expect(findHome({ SALLYPORT_HOME: '/srv/door' }, '/home/u')).toBe('/srv/door');
    expect(findHome({}, '/home/u')).toBe('/home/u/.local/state/sallyport');
    expect(findHome({ SALLYPORT_HOME: '' }, '/home/u')).toBe('/home/u/.local/state/sallyport');
  });

  test('a relative one is taken from the working directory, once', () => {
    expect(findHome({ SALLYPORT_HOME: 'state' }, '/home/u')).toBe(`${process.cwd()}/state`);
  });

  test('the admin socket is where the contract says', () => {
    expect(placesIn('/srv/door').adminSocket).toBe('/srv/door/run/admin.sock');
  });
});

// The state directory belongs to another gateway that is alive: a class of its own, because `sallyport run` then takes
// another place, where every other command stops.

export class HomeInUse extends Error {
  override readonly name = 'HomeInUse';
}

# The bare relay in Node (floor.mjs), started as Sallyport is: the distance between the two is what Sallyport's own work costs.
start_contender() {
  CERT=$work/up.pem CERT_KEY=$work/up.key UP_CA=$work/upca.pem KEY=$key PORT=8121 \
    launch floor node "$bench/peers/floor.mjs"
  await_port floor 8121
}

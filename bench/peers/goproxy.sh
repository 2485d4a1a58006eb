# goproxy as its README shows an intercepting proxy, with the leaf cached by host (goproxy/main.go).
start_contender() {
  CA_CERT=$work/mitm.pem CA_KEY=$work/mitm.key UP_CA=$work/upca.pem KEY=$key PORT=8103 launch goproxy "$work/goproxy"
  await_port goproxy 8103
}

// The goproxy peer: intercepts, sets the header, dials every name on loopback.
// Debian: golang-go and golang-github-elazarl-goproxy-dev; built by prepare.sh.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/elazarl/goproxy"
)

func dialLoopback(ctx context.Context, network, addr string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, network, "127.0.0.1:"+port)
}

func main() {
	ca, err := tls.LoadX509KeyPair(os.Getenv("CA_CERT"), os.Getenv("CA_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	ca.Leaf, _ = x509.ParseCertificate(ca.Certificate[0])
	pem, _ := os.ReadFile(os.Getenv("UP_CA"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	proxy := goproxy.NewProxyHttpServer()
	proxy.Tr = &http.Transport{
		DialContext:         dialLoopback,
		TLSClientConfig:     &tls.Config{RootCAs: roots},
		MaxIdleConnsPerHost: 2048,
		DisableCompression:  true,
	}

	// This version mints a leaf for every CONNECT unless the caller keeps its tls.Config.
	var mu sync.Mutex
	configs := map[string]*tls.Config{}
	mint := goproxy.TLSConfigFromCA(&ca)
	cached := func(host string, c *goproxy.ProxyCtx) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		if x, ok := configs[host]; ok {
			return x, nil
		}
		x, err := mint(host, c)
		if err == nil {
			configs[host] = x
		}
		return x, err
	}
	mitm := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: cached}
	proxy.OnRequest().HandleConnect(goproxy.FuncHttpsHandler(
		func(host string, c *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) { return mitm, host }))
	key := os.Getenv("KEY")
	proxy.OnRequest().DoFunc(func(r *http.Request, c *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		r.Header.Set("X-Api-Key", key)
		return r, nil
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), proxy))
}

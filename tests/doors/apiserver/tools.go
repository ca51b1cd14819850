//go:build tools

// Names the program that the Kubernetes door is tested against; deploy/setup_clients.sh builds it.
package apiserver

import _ "k8s.io/kubernetes/cmd/kube-apiserver"

#!/bin/bash
# A Ray cluster of three nodes on this machine, each in a network namespace with an address of its own.
#
#   cluster_in_namespaces.sh up PYTHON FOLDER    make the network, start head and two workers
#   cluster_in_namespaces.sh cut                 take the cable out of the third node
#   cluster_in_namespaces.sh down                stop what `up` started and remove the network
#
# FOLDER keeps Ray's own files and the process ids. It needs root and Debian's iproute2.
set -euo pipefail

name=leantta-scan
nodes=(1 2 3)
address() { echo "10.213.7.$1"; }

down() {
    for node in "${nodes[@]}"; do
        # only what runs in our own namespaces
        for pid in $(ip netns pids "$name-$node" 2>/dev/null || true); do kill -9 "$pid" 2>/dev/null || true; done
        ip netns delete "$name-$node" 2>/dev/null || true
        ip link delete "lts-$node" 2>/dev/null || true
    done
    ip link delete lts-bridge 2>/dev/null || true
}

up() {
    local python=$1 folder=$2 ray
    ray="$(dirname "$python")/ray"
    down
    ip link add lts-bridge type bridge
    ip link set lts-bridge up
    for node in "${nodes[@]}"; do
        ip netns add "$name-$node"
        ip link add "lts-$node" type veth peer name eth0 netns "$name-$node"
        ip link set "lts-$node" master lts-bridge up
        ip -n "$name-$node" addr add "$(address "$node")/24" dev eth0
        ip -n "$name-$node" link set eth0 up
        ip -n "$name-$node" link set lo up
        ip -n "$name-$node" route add default via "$(address 254)"  # nobody; Ray asks which address is ours
    done
    # a node that does not answer for five seconds is dead; Ray's own limits are about a minute
    export RAY_health_check_period_ms=1000 RAY_health_check_timeout_ms=1000 RAY_health_check_failure_threshold=5
    # nobody else is on this network, so no tokens
    export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=disabled
    for node in "${nodes[@]}"; do
        local role=(--address "$(address 1):6379")
        [ "$node" = 1 ] && role=(--head --port 6379 --include-dashboard false)
        ip netns exec "$name-$node" "$ray" start "${role[@]}" --node-ip-address "$(address "$node")" \
            --num-cpus 1 --object-store-memory 100000000 --temp-dir "$folder/node$node" --disable-usage-stats \
            > "$folder/start$node.log" 2>&1
    done
}

case "${1:-}" in
    up) up "$2" "$3" ;;
    cut) ip link set lts-3 down ;;
    down) down ;;
    *) sed -n '2,8p' "$0"; exit 2 ;;
esac

var n={"megatron-lm":["0.16","0.17","0.18","0.19","main"],"megatron-bridge":["0.4","0.5","0.6","main"],loongforge:["main"]};export{n as a};

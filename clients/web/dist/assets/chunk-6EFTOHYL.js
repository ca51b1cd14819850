import{a as n}from"./chunk-DLCKCYON.js";var $=Object.entries(n).flatMap(([t,p])=>[...p].reverse().map(i=>i==="main"?[t,`${t} main`]:[`${t}@${i}`,`${t} ${i}`]));export{$ as a};

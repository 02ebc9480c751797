/** Ready-made rows, as field lists. */
const wideTypes = ['int', 'long', 'double', 'string', 'boolean', 'timestamp'];
const wide = Array.from({ length: 25 }, (_, i) => `c${i + 1}:${wideTypes[i % wideTypes.length]}`);

export const quickstarts: Readonly<Record<string, string>> = {
  users: 'id:long,name:string,email:string,age:int,active:boolean,balance:double,created_at:timestamp',
  orders: 'order_id:long,customer_id:long,product:string,quantity:int,price:double,created_at:timestamp',
  pageviews: 'view_id:long,user:string,page:string,viewed_at:timestamp',
  /** 3 integers: the smallest row of the benchmarks. */
  narrow: 'id:long,a:int,b:long',
  /** 26 columns. */
  wide: ['id:long', ...wide].join(','),
};

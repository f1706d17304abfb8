// Package journal keeps the records of operations durably: in an embedded
// database that several processes of one machine share, or in PostgreSQL for a
// fleet. Both are a contract.Store and pass the suite of journaltest. It knows
// nothing of what a record means; package contract does.
//
// Start with Open, or OpenPostgres, and Sealer.
package journal
